from wug import analysis as analysis
from wug import estimators as estimators
from wug import layers as layers
from wug import models as models
from wug import tasks as tasks
from wug import units as units
from wug.analysis.masks.find import find_masks as find_masks
from wug.functional.network_rules import penalty as penalty
from wug.functional.network_rules import project_ as project_
from wug.models.replace_mlp import replace_mlp as replace_mlp
from wug.study.results import load as load
from wug.study.results import results as results
from wug.study.results import run as run
from wug.training.train import train as train

__version__: str
