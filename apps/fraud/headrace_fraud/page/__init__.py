"""The live page of the fraud flagship: what it knows (`Board`), who tells it (`Collector`), and who shows it (`Page`)."""

from headrace_fraud.page.board import TOPICS, Board
from headrace_fraud.page.collector import Collector
from headrace_fraud.page.control import Control, JobStatus
from headrace_fraud.page.server import Page

__all__ = ["TOPICS", "Board", "Collector", "Control", "JobStatus", "Page"]
