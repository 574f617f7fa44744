"""Tables between Excel, CSV and PDF: the reference service of the task StructuredDataConvertor."""

import base64
import binascii
import csv
import io
import re
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import Literal

import openpyxl
import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from pypdf import PdfReader
from pypdf.errors import PyPdfError
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4, landscape
from reportlab.platypus import LongTable, SimpleDocTemplate, TableStyle

Table = list[list[str]]
Format = Literal["excel", "csv", "pdf"]
app = FastAPI(title="StructuredDataConvertor", version="1.0.0")
api = APIRouter(prefix="/api/v1")
workers = ThreadPoolExecutor(max_workers=4)


class Problem(Exception):  # noqa: N818
    """What cannot be converted, and why."""


class Options(BaseModel):
    encoding: str = "utf-8"
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    has_header: bool = True
    sheet_name: str = "Sheet1"


class Conversion(BaseModel):
    source_format: Format
    target_format: Format
    data: str
    options: Options = Options()


class LooseConversion(BaseModel):
    """A part of a batch: what is wrong with it is its own result's matter."""

    source_format: str = ""
    target_format: str = ""
    data: str = ""
    options: dict = {}


class Batch(BaseModel):
    conversions: list[LooseConversion]
    parallel: bool = False


def read_csv(data: bytes, options: Options) -> Table:
    text = data.decode(options.encoding)
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=options.delimiter) if row]


def read_excel(data: bytes, options: Options) -> Table:
    if not zipfile.is_zipfile(io.BytesIO(data)):  # some clients encode what is encoded
        data = base64.b64decode(data, validate=True)
    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    sheet = book[options.sheet_name] if options.sheet_name in book.sheetnames else book.worksheets[0]
    rows = sheet.iter_rows(values_only=True)
    return [["" if value is None else str(value) for value in row] for row in rows]


def read_pdf(data: bytes, options: Options) -> Table:
    pages = PdfReader(io.BytesIO(data)).pages
    lines = [line for page in pages for line in page.extract_text(extraction_mode="layout").splitlines()]
    return [re.split(r"\s{2,}", line.strip()) for line in lines if line.strip()]


def write_csv(table: Table, options: Options) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=options.delimiter, lineterminator="\n").writerows(table)
    return text.getvalue().encode(options.encoding)


def write_excel(table: Table, options: Options) -> bytes:
    book, kept = openpyxl.Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet(options.sheet_name[:31] or "Sheet1")
    for row in table:
        sheet.append([_value(cell) for cell in row])
    book.save(kept)
    return kept.getvalue()


def _value(cell: str) -> str | int | float:
    if re.fullmatch(r"-?(0|[1-9]\d{0,14})", cell):
        return int(cell)
    return float(cell) if re.fullmatch(r"-?(0|[1-9]\d{0,14})\.\d*[1-9]", cell) else cell


def write_pdf(table: Table, options: Options) -> bytes:
    kept = io.BytesIO()
    width = max(map(len, table), default=1)
    rows = [row + [""] * (width - len(row)) for row in table] or [[""]]
    style = [("GRID", (0, 0), (-1, -1), 0.25, colors.grey), ("FONTSIZE", (0, 0), (-1, -1), 7)]
    drawn = LongTable(rows, repeatRows=int(options.has_header and len(rows) > 1), style=TableStyle(style))
    SimpleDocTemplate(kept, pagesize=landscape(A4)).build([drawn])
    return kept.getvalue()


READERS = {"csv": read_csv, "excel": read_excel, "pdf": read_pdf}
WRITERS = {"csv": write_csv, "excel": write_excel, "pdf": write_pdf}


def converted(asked: Conversion) -> dict:
    """Return the answer to one conversion. Raises `Problem`."""
    began = time.perf_counter()
    try:
        source = base64.b64decode(asked.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Problem("data is not base64") from error
    if not source:
        raise Problem("data is empty")
    try:
        table = READERS[asked.source_format](source, asked.options)
        target = WRITERS[asked.target_format](table, asked.options)
    except (ValueError, LookupError, OSError, zipfile.BadZipFile, PyPdfError, csv.Error) as error:
        raise Problem(f"{asked.source_format} cannot become {asked.target_format}: {error}") from error
    return {
        "success": True,
        "message": "Conversion successful",
        "result": base64.b64encode(target).decode(),
        "metadata": {
            "source_size": len(source),
            "target_size": len(target),
            "conversion_time": max(time.perf_counter() - began, 1e-6),
            "rows_count": max(0, len(table) - asked.options.has_header),
            "columns_count": max(map(len, table), default=0),
        },
    }


def attempted(part: LooseConversion) -> dict:
    try:
        return converted(Conversion.model_validate(part.model_dump()))
    except (Problem, ValueError) as error:
        return {"success": False, "message": str(error), "result": "", "metadata": {}}


@app.middleware("http")
async def for_every_origin(request: Request, call_next) -> Response:
    answer = await call_next(request)
    answer.headers["Access-Control-Allow-Origin"] = "*"
    return answer


@app.exception_handler(Problem)
async def refused(request: Request, error: Problem) -> JSONResponse:
    return JSONResponse({"success": False, "message": str(error), "result": "", "metadata": {}}, 400)


@api.get("/health")
async def health() -> dict:
    return {"status": "healthy", "timestamp": datetime.now(timezone.utc).isoformat(), "version": app.version}


@api.post("/convert")
def convert(asked: Conversion) -> dict:
    return converted(asked)


@api.post("/convert/batch")
def convert_batch(asked: Batch) -> dict:
    began = time.perf_counter()
    each = workers.map if asked.parallel else map
    results = list(each(attempted, asked.conversions))
    done = sum(result["success"] for result in results)
    summary = {
        "total_count": len(results),
        "success_count": done,
        "failure_count": len(results) - done,
        "total_time": max(time.perf_counter() - began, 1e-6),
    }
    return {"success": True, "message": f"{done} of {len(results)} done", "results": results, "summary": summary}


app.include_router(api)

if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=8000)
