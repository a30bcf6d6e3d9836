"""Projects: which one a folder belongs to, what it is called, and where its files lie.

| module | responsible for |
|---|---|
| `find` | the project of a folder; whether it may be indexed |
| `explain` | why a project has its key and name, or why there is none |
| `git_folder` | `.git` folders and files, read without git |
| `git_config` | the two settings that matter of `.git/config` |
| `origin` | one spelling for all URLs of a repository |
| `registry` | keys that survive a new remote, a rename or a move |
| `places` | folders for state, inside a tree and outside |
"""

from hybrid.project.find import Project, find_project, refusal
from hybrid.project.places import create_folder, hybrid_home, open_tree_state, register

__all__ = ["Project", "create_folder", "find_project", "hybrid_home", "open_tree_state", "refusal", "register"]
