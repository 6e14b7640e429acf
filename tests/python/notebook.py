"""notebook.py FILE FOLDER: runs a notebook and writes its pictures into the folder.  The notebook is stored without results."""
import base64
import sys

import nbclient
import nbformat

notebook = nbformat.read(sys.argv[1], 4)
assert not any(cell.get("outputs") for cell in notebook.cells), "results are kept out of the file"
nbclient.NotebookClient(notebook, timeout=400, kernel_name="python3").execute()
pictures = [output.data["image/png"] for cell in notebook.cells for output in cell.get("outputs", [])
            if "image/png" in output.get("data", {})]
assert pictures
for number, picture in enumerate(pictures):
    with open(f"{sys.argv[2]}/{number}.png", "wb") as file:
        file.write(base64.b64decode(picture))
for cell in notebook.cells:
    for output in cell.get("outputs", []):
        print(output.get("text", ""), end="")
