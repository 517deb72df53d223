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
from wug.tasks.productivity.mathematics import Mathematics as Mathematics
from wug.tasks.productivity.pcfg_productivity import PCFGProductivity as PCFGProductivity
from wug.tasks.productivity.scan_length import ScanLength as ScanLength
from wug.tasks.productivity.simple_arithmetic import SimpleArithmetic as SimpleArithmetic
from wug.tasks.systematicity.cfq import CFQ as CFQ
from wug.tasks.systematicity.cogs import COGS as COGS
from wug.tasks.systematicity.ctlpp import CTLpp as CTLpp
from wug.tasks.systematicity.film_queries import FilmQueries as FilmQueries
from wug.tasks.systematicity.pcfg_systematicity import PCFGSystematicity as PCFGSystematicity
from wug.tasks.systematicity.scan import Scan as Scan
from wug.tasks.systematicity.slog import SLOG as SLOG
