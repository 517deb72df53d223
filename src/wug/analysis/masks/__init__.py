"""Which weights do what: binary masks of any trained network (Csordás et al., 2021)."""

from wug.analysis.masks.files import load_masks, save_masks
from wug.analysis.masks.find import find_masks
from wug.analysis.masks.finder import find_beta
from wug.analysis.masks.found import FoundMasks
from wug.analysis.masks.gates import Blocks
from wug.analysis.masks.judging import confusion
from wug.analysis.masks.mask import Mask, model_hash, random_mask, union
from wug.analysis.masks.overlap import io_min, iou, sharing
from wug.analysis.masks.sampling import ContinuousSparsification, GumbelSigmoid, HardConcrete

__all__ = [
    "Blocks",
    "ContinuousSparsification",
    "FoundMasks",
    "GumbelSigmoid",
    "HardConcrete",
    "Mask",
    "confusion",
    "find_beta",
    "find_masks",
    "io_min",
    "iou",
    "load_masks",
    "model_hash",
    "random_mask",
    "save_masks",
    "sharing",
    "union",
]
