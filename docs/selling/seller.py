import base64, hashlib, hmac, json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

secret = base64.b64decode(os.environ["SIGNING_SECRET"].removeprefix("whsec_"))


class Seller(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.is_genuine(body):
            return self.answer(401, {"error": "no valid signature"})
        text = json.loads(body).get("text")
        if not isinstance(text, str):
            return self.answer(422, {"missing": "text"})
        self.answer(200, {"words": len(text.split())})

    def is_genuine(self, body):
        request_id = self.headers.get("X-Market-Request-Id", "")
        timestamp = self.headers.get("X-Market-Timestamp", "")
        if not timestamp.isdecimal() or abs(time.time() - int(timestamp)) > 300:
            return False
        digest = hmac.new(secret, f"{request_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
        expected = "v1," + base64.b64encode(digest).decode()
        given = self.headers.get("X-Market-Signature", "").split(" ")
        return any(hmac.compare_digest(expected.encode(), signature.encode()) for signature in given)

    def answer(self, status, value):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Seller).serve_forever()
