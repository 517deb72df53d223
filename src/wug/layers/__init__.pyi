# Written by python -m wug.core.index.
from wug.layers.absolute_attention import AbsoluteAttention as AbsoluteAttention
from wug.layers.absolute_relative_attention import (
    AbsoluteRelativeAttention as AbsoluteRelativeAttention,
)
from wug.layers.adaptive_computation import AdaptiveComputation as AdaptiveComputation
from wug.layers.arithmetic_cell import ArithmeticCell as ArithmeticCell
from wug.layers.arithmetic_layer import ArithmeticLayer as ArithmeticLayer
from wug.layers.attention_readout import AttentionReadout as AttentionReadout
from wug.layers.copy_gate import CopyGate as CopyGate
from wug.layers.feed_forward import FeedForward as FeedForward
from wug.layers.geometric_attention import GeometricAttention as GeometricAttention
from wug.layers.position_encoding import PositionEncoding as PositionEncoding
from wug.layers.relative_attention import RelativeAttention as RelativeAttention
from wug.layers.stick_breaking_attention import StickBreakingAttention as StickBreakingAttention
