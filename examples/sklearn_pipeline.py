"""Search over a whole scikit-learn pipeline, beside RandomizedSearchCV with the same budget."""

from scipy.stats import loguniform, randint
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import RandomizedSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC

from ccgbo.integrations.sklearn import CCGBOSearchCV

X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)

pipeline = Pipeline([("scale", StandardScaler()), ("reduce", PCA()), ("classify", SVC())])
distributions = {
    "scale": [StandardScaler(), MinMaxScaler(), "passthrough"],
    "reduce__n_components": randint(2, 13),
    "classify__kernel": ["rbf", "sigmoid"],
    "classify__C": loguniform(1e-3, 1e3),
    "classify__gamma": loguniform(1e-5, 1e1),
}

for SearchCV in (RandomizedSearchCV, CCGBOSearchCV):
    search = SearchCV(pipeline, distributions, n_iter=30, cv=3, random_state=0)
    search.fit(X_train, y_train)
    print(
        f"{SearchCV.__name__:<18} cross-validated {search.best_score_:.4f}, held out {search.score(X_test, y_test):.4f}"
    )

print(search.best_params_)
print("most credited candidates:")
for row in sorted(search.optimizer_.credits(), key=lambda row: -row.credit)[:3]:
    print(f"  {row.credit:.2f}  score {row.value:.4f}  {search.cv_results_['params'][row.trial_id]}")
