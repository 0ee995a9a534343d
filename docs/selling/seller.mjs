import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { verifyRequest } from '@market/sdk/seller';

const { SIGNING_SECRET: secret = '', PORT } = process.env;
createServer(async (request, response) => {
  const answer = (status, value) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
  const rawBody = await text(request);
  try {
    verifyRequest({ headers: request.headers, rawBody, secret });
  } catch {
    return answer(401, { error: 'no valid signature' });
  }
  const asked = JSON.parse(rawBody).text;
  if (typeof asked !== 'string') return answer(422, { missing: 'text' });
  answer(200, { words: asked.split(/\s+/).length });
}).listen(Number(PORT), '127.0.0.1');
