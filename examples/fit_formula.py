"""From a table to a formula, on two real data sets that come with scikit-learn.

Cell nuclei (the Wisconsin breast cancer data): the radius is the mean distance from the centre to
the outline, the area is another column. The formula is searched on benign samples, whose nuclei
are small, and tried on nuclei that are larger than any of them.

Diabetes: ten measurements of a patient, and how far the disease has gone after a year. No exact
formula is known, and none should be claimed.

    python examples/fit_formula.py
"""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestRegressor

from wug.estimators import ArithmeticRegressor

cells = load_breast_cancer()
column = {name: place for place, name in enumerate(cells.feature_names)}
radius, area = cells.data[:, [column["mean radius"]]], cells.data[:, column["mean area"]]
benign = cells.target_names[cells.target] == "benign"
larger = radius[:, 0] > radius[benign].max()

# Without roots, exponents are whole numbers.
model = ArithmeticRegressor(
    operations=("add", "sub", "mul", "div", "pow"), time_budget=20, random_state=0
)
model.fit(radius[benign], area[benign])
trees = RandomForestRegressor(random_state=0).fit(radius[benign], area[benign])
print(f"nuclei: area = {model.expression_.evalf(3)} ({model.status_})")
for name, fitted in (("formula", model), ("forest", trees)):
    error = np.abs(fitted.predict(radius[larger]) / area[larger] - 1).mean()
    print(f"  {name} on {larger.sum()} larger nuclei: off by {error:.1%} on average")

patients = load_diabetes(scaled=False)
model = ArithmeticRegressor(time_budget=10, random_state=0)
model.fit(patients.data, patients.target)
print(f"diabetes: {model.status_}")
for equation in model.equations_:
    print(f"  size {equation.complexity:2}  R² {equation.r2:5.2f}  {equation.expression.evalf(3)}")
