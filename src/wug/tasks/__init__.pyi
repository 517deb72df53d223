# Written by python -m wug.core.index.
from wug.tasks.extrapolation.arithmetic_dataset import ArithmeticDataset as ArithmeticDataset
from wug.tasks.extrapolation.boolean import Boolean as Boolean
from wug.tasks.extrapolation.comparison import Comparison as Comparison
from wug.tasks.extrapolation.counting import Counting as Counting
from wug.tasks.extrapolation.distribution_shift import DistributionShift as DistributionShift
from wug.tasks.extrapolation.identity import Identity as Identity
from wug.tasks.extrapolation.large_scale_arithmetic import (
    LargeScaleArithmetic as LargeScaleArithmetic,
)
from wug.tasks.extrapolation.list_minimum import ListMinimum as ListMinimum
from wug.tasks.extrapolation.piecewise import Piecewise as Piecewise
from wug.tasks.extrapolation.recurrent_arithmetic import RecurrentArithmetic as RecurrentArithmetic
from wug.tasks.extrapolation.single_module import SingleModule as SingleModule
from wug.tasks.extrapolation.static_arithmetic import StaticArithmetic as StaticArithmetic
from wug.tasks.productivity.ctl import CTL as CTL
from wug.tasks.productivity.listops import ListOps as ListOps
from wug.tasks.productivity.simple_arithmetic import SimpleArithmetic as SimpleArithmetic
from wug.tasks.systematicity.ctlpp import CTLpp as CTLpp
