"""The package: its types, its wheel, its notebook."""

import os
import subprocess
import sys
import venv
from pathlib import Path

import nbclient
import nbformat

HERE = Path(__file__).parent
PACKAGE = HERE.parent


def run(*words: object) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, cwd=PACKAGE)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_package_and_a_program_that_uses_it_are_typed() -> None:
    said = run(sys.executable, "-m", "mypy", "--strict", "python/usrdccp", "tests/typed_use.py")
    assert said.startswith("Success"), said


def test_wheel_is_installed_in_a_fresh_environment(tmp_path: Path) -> None:
    wheel = Path(os.environ["USRDCCP_WHEEL"])
    assert "-cp310-abi3-" in wheel.name
    venv.create(tmp_path / "fresh", with_pip=True)
    python = tmp_path / "fresh" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-index", wheel)
    scenario = PACKAGE.parent.parent / "scenarios" / "first-look.toml"
    program = (
        "import usrdccp\n"
        f"results = usrdccp.Scenario.read({str(scenario)!r}).run(['law=cubic'])\n"
        "print(len(results), results.csv.splitlines()[0].split(',')[:3])\n"
        "try:\n    results.to_arrow()\nexcept ImportError as error:\n    print(error)\n"
    )
    said = run(python, "-c", program)
    expected = "pyarrow is not installed; write pip install 'usrdccp[arrow]'"
    assert said == f"1 ['scenario', 'key', 'label']\n{expected}\n"


def test_notebook_runs() -> None:
    for path in sorted((PACKAGE / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        assert not any(cell.get("outputs") for cell in notebook.cells), "stored without outputs"
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
        outputs = [cell for cell in notebook.cells if cell.get("outputs")]
        assert len(outputs) >= 4
