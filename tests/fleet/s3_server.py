"""A small server that speaks S3 over HTTP for tests: buckets in memory, and each request's signature is checked.

What it knows: PUT, GET (with ranges), HEAD and DELETE of objects, lists of version 2, many deleted at once, and
uploads in parts. Signatures: Signature Version 4 of the AWS General Reference, in the header Authorization.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

KEY_ID, KEY, REGION = "AKIDREACHTEST", "reach/secret+of+the+tests", "eu-test-1"


@dataclass
class S3:
    """What a test sees: the address, the objects by `BUCKET/KEY`, and each request as `METHOD path`."""

    url: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def environ(self, address: str) -> dict[str, str]:
        return {
            "PROCTOR_SHARED": address,
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": KEY,
        }


@contextmanager
def s3_server() -> Iterator[S3]:
    kept = S3()

    class Handler(_Handler):
        s3 = kept

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        kept.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    s3: S3

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        path, query = unquote(parts.path).lstrip("/"), dict(parse_qsl(parts.query, keep_blank_values=True))
        with self.s3.lock:
            self.s3.asked.append(f"{self.command} {self.path}")
            wrong = self._wrongly_signed(parts.path, parts.query, body)
            if wrong:
                self.s3.refused.append(wrong)
                self._answer(403, _error("SignatureDoesNotMatch", wrong))
                return
            getattr(self, f"_{self.command.lower()}")(path, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve

    def _wrongly_signed(self, path: str, query: str, body: bytes) -> str | None:
        """Why a signature is not the one that the key makes of this very request."""
        found = re.fullmatch(
            r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
            r"SignedHeaders=([^,]+), ?Signature=(\w+)",
            self.headers.get("Authorization", ""),
        )
        if found is None:
            return "no signature"
        key_id, day, region, signed, signature = found.groups()
        digest = self.headers.get("x-amz-content-sha256", "")
        if digest not in (hashlib.sha256(body).hexdigest(), "UNSIGNED-PAYLOAD"):
            return "another body"
        pairs = sorted(
            (quote(name, safe="-_.~"), quote(value, safe="-_.~"))
            for name, value in parse_qsl(query, keep_blank_values=True)
        )
        headers = "".join(
            f"{name}:{' '.join((self.headers[name] or '').split())}\n" for name in signed.split(";")
        )
        canonical = "\n".join(
            (
                self.command,
                path,
                "&".join(f"{name}={value}" for name, value in pairs),
                headers,
                signed,
                digest,
            )
        )
        scope = f"{day}/{region}/s3/aws4_request"
        hashed = hashlib.sha256(canonical.encode()).hexdigest()
        text = "\n".join(("AWS4-HMAC-SHA256", self.headers["x-amz-date"], scope, hashed))
        key = f"AWS4{KEY}".encode()
        for word in (day, region, "s3", "aws4_request"):
            key = hmac.digest(key, word.encode(), "sha256")
        right = hmac.new(key, text.encode(), "sha256").hexdigest()
        return None if (key_id, region, signature) == (KEY_ID, REGION, right) else "another signature"

    def _get(self, path: str, query: dict[str, str], _body: bytes) -> None:
        bucket, _, key = path.partition("/")
        if not key:
            self._list(bucket, query.get("prefix", ""))
        elif path not in self.s3.objects:
            self._answer(404, _error("NoSuchKey", key))
        else:
            whole = self.s3.objects[path]
            ranged = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
            if ranged is None:
                self._answer(200, whole, path)
                return
            first, last = int(ranged[1]), int(ranged[2] or len(whole) - 1)
            span = f"bytes {first}-{min(last, len(whole) - 1)}/{len(whole)}"
            self._answer(206, whole[first : last + 1], path, **{"Content-Range": span})

    _head = _get

    def _list(self, bucket: str, prefix: str) -> None:
        found = sorted(name for name in self.s3.objects if name.startswith(f"{bucket}/{prefix}"))
        told = "".join(
            f"<Contents><Key>{escape(name.partition('/')[2])}</Key><Size>{len(self.s3.objects[name])}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;{_etag(self.s3.objects[name])}&quot;</ETag>"
            "</Contents>"
            for name in found
        )
        head = f"<Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(found)}</KeyCount>"
        self._xml(f"<ListBucketResult>{head}<IsTruncated>false</IsTruncated>{told}</ListBucketResult>")

    def _put(self, path: str, query: dict[str, str], body: bytes) -> None:
        if "uploadId" in query:
            self.s3.parts[query["uploadId"]][int(query["partNumber"])] = body
        else:
            self.s3.objects[path] = body
        self._answer(200, b"", ETag=f'"{_etag(body)}"')

    def _post(self, path: str, query: dict[str, str], body: bytes) -> None:
        bucket, _, key = path.partition("/")
        if "delete" in query:
            names = re.findall(r"<Key>([^<]+)</Key>", body.decode())
            for name in names:
                self.s3.objects.pop(f"{bucket}/{name}", None)
            told = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            self._xml(f"<DeleteResult>{told}</DeleteResult>")
        elif "uploads" in query:
            upload = uuid.uuid4().hex
            self.s3.parts[upload] = {}
            told = f"<Bucket>{bucket}</Bucket><Key>{escape(key)}</Key><UploadId>{upload}</UploadId>"
            self._xml(f"<InitiateMultipartUploadResult>{told}</InitiateMultipartUploadResult>")
        else:
            parts = self.s3.parts.pop(query["uploadId"])
            self.s3.objects[path] = b"".join(parts[number] for number in sorted(parts))
            told = f"<Key>{escape(key)}</Key><ETag>&quot;{_etag(self.s3.objects[path])}&quot;</ETag>"
            self._xml(f"<CompleteMultipartUploadResult>{told}</CompleteMultipartUploadResult>")

    def _delete(self, path: str, query: dict[str, str], _body: bytes) -> None:
        self.s3.parts.pop(query.get("uploadId", ""), None)
        if "uploadId" not in query:
            self.s3.objects.pop(path, None)
        self._answer(204, b"")

    def _xml(self, text: str) -> None:
        self._answer(200, f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode())

    def _answer(self, status: int, body: bytes, path: str | None = None, **headers: str) -> None:
        self.send_response(status)
        if path is not None:
            headers = {"ETag": f'"{_etag(self.s3.objects[path])}"', **headers}
            headers["Last-Modified"] = "Thu, 01 Jan 2026 00:00:00 GMT"
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


def _etag(body: bytes) -> str:
    return hashlib.md5(body, usedforsecurity=False).hexdigest()


def _error(code: str, text: str) -> bytes:
    return f"<Error><Code>{code}</Code><Message>{escape(text)}</Message></Error>".encode()
