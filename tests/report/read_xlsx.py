"""Prints a sheet of a spreadsheet as CSV, with Python's own zip and XML: usage: read_xlsx.py FILE SHEET"""
import csv
import sys
import zipfile
from xml.etree import ElementTree

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"

book = zipfile.ZipFile(sys.argv[1])
sheets = ElementTree.fromstring(book.read("xl/workbook.xml")).iter(MAIN + "sheet")
wanted = next(sheet.get(ID) for sheet in sheets if sheet.get("name") == sys.argv[2])
links = ElementTree.fromstring(book.read("xl/_rels/workbook.xml.rels"))
path = next(link.get("Target") for link in links if link.get("Id") == wanted)
shared = []
if "xl/sharedStrings.xml" in book.namelist():
    for item in ElementTree.fromstring(book.read("xl/sharedStrings.xml")).iter(MAIN + "si"):
        shared.append("".join(text.text or "" for text in item.iter(MAIN + "t")))
rows = csv.writer(sys.stdout, lineterminator="\n")
for row in ElementTree.fromstring(book.read("xl/" + path)).iter(MAIN + "row"):
    cells = {}
    for cell in row.iter(MAIN + "c"):
        column = 0
        for letter in cell.get("r").rstrip("0123456789"):
            column = 26 * column + ord(letter) - ord("A") + 1
        value = cell.find(MAIN + "v")
        if cell.get("t") == "inlineStr":
            cells[column] = "".join(text.text or "" for text in cell.iter(MAIN + "t"))
        elif value is not None:
            cells[column] = shared[int(value.text)] if cell.get("t") == "s" else value.text
    rows.writerow([cells.get(column, "") for column in range(1, max(cells, default=0) + 1)])
