# Written by python -m wug.core.index.
from wug.layers.absolute_attention import AbsoluteAttention as AbsoluteAttention
from wug.layers.absolute_relative_attention import (
    AbsoluteRelativeAttention as AbsoluteRelativeAttention,
)
from wug.layers.adaptive_computation import AdaptiveComputation as AdaptiveComputation
from wug.layers.arithmetic_cell import ArithmeticCell as ArithmeticCell
from wug.layers.arithmetic_layer import ArithmeticLayer as ArithmeticLayer
from wug.layers.attention_readout import AttentionReadout as AttentionReadout
from wug.layers.causal_attention import CausalAttention as CausalAttention
from wug.layers.copy_gate import CopyGate as CopyGate
from wug.layers.dnc_memory import DNCMemory as DNCMemory
from wug.layers.feed_forward import FeedForward as FeedForward
from wug.layers.gated_delta_rule import GatedDeltaRule as GatedDeltaRule
from wug.layers.geometric_attention import GeometricAttention as GeometricAttention
from wug.layers.loss_free_moe import LossFreeMoE as LossFreeMoE
from wug.layers.peer import PEER as PEER
from wug.layers.position_encoding import PositionEncoding as PositionEncoding
from wug.layers.product_key_memory import ProductKeyMemory as ProductKeyMemory
from wug.layers.relative_attention import RelativeAttention as RelativeAttention
from wug.layers.segment_attention import SegmentAttention as SegmentAttention
from wug.layers.sigma_moe import SigmaMoE as SigmaMoE
from wug.layers.sinkhorn_moe import SinkhornMoE as SinkhornMoE
from wug.layers.softmax_moe import SoftmaxMoE as SoftmaxMoE
from wug.layers.sparsely_gated_moe import SparselyGatedMoE as SparselyGatedMoE
from wug.layers.stick_breaking_attention import StickBreakingAttention as StickBreakingAttention
from wug.layers.switch_head import SwitchHead as SwitchHead
from wug.layers.switch_moe import SwitchMoE as SwitchMoE
from wug.layers.top_k_mlp import TopKMLP as TopKMLP
