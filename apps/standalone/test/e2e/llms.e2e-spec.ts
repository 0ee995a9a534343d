import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { openShop, type Shop } from '../support/seller.js';
import { inEachMode, registerAgent } from '../support/harness.js';

const run = promisify(execFile);
const SIGNER =
  'import { privateKeyToAccount as of } from "viem/accounts"; ' +
  'process.stdout.write(await of(process.env.PRIVATE_KEY).signMessage({ message: process.argv[1] }));';
const TYPED_SIGNER =
  'import { privateKeyToAccount as of } from "viem/accounts"; ' +
  'process.stdout.write(await of(process.env.PRIVATE_KEY).signTypedData(JSON.parse(process.argv[1])));';
/** Some four characters are a token. */
const MAX_CHARACTERS = 4 * 6_000;

inEachMode('llms.txt', (harness) => {
  let shop: Shop;
  const received: { body: string; headers: string[] }[] = [];
  const server = createServer((request, response) => {
    void textOf(request).then((body) => {
      const headers = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
      received.push({ body, headers: headers.map((name) => String(request.headers[name])) });
      response.end('{"words": 6}');
    });
  });

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    shop = await openShop(await registerAgent(harness), ({ body }) => ({
      words: String((body as { text: string }).text).split(' ').length,
    }));
  });
  afterAll(async () => {
    server.close();
    await shop.close();
  });

  it('leads who does word by word what it says from registration to a sale and a bought answer', async () => {
    const text = await (await fetch(`${harness.baseUrl}/llms.txt`)).text();
    const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block);
    expect([blocks.length, text.length < MAX_CHARACTERS]).toEqual([8, true]);
    const key = generatePrivateKey();
    const sign = [
      `sign() { node --input-type=module -e '${SIGNER}' "$1"; }`,
      `sign_typed() { node --input-type=module -e '${TYPED_SIGNER}' "$1"; }`,
    ].join('\n');
    // The public address in the text is that of the edge that was asked.
    const steps = blocks.join('\n').replace(/^API=.*$/m, `API=${harness.baseUrl}/api/v1`);
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', `${sign}\n${steps}\necho "$SECRET"`], {
      env: {
        ...process.env,
        PRIVATE_KEY: key,
        WALLET: privateKeyToAccount(key).address,
        ENDPOINT: `http://127.0.0.1:${(server.address() as AddressInfo).port}/words`,
        SHOP: shop.listing.slug,
        BODY: '{"text": "to be or not to be"}',
      },
    });
    const [inSandbox, bySignature, secret] = stdout
      .trim()
      .split('\n')
      .filter((line) => /^(\{'|whsec_)/.test(line));
    expect([inSandbox, bySignature]).toEqual(["{'words': 6}", "{'words': 6}"]);
    expect(stdout).toContain('"seller_status_code":200');
    const verifying = blocks.find((block) => block!.includes('verify()'))!;
    const verified = (body: string, headers: string[]): Promise<boolean> => {
      const asked = run('bash', ['-c', `${verifying}\nverify "$@"`, 'bash', ...headers], {
        env: { ...process.env, SECRET: secret },
      });
      asked.child.stdin!.end(body);
      return asked.then(
        () => true,
        () => false,
      );
    };
    const [{ body, headers }] = received as [(typeof received)[number]];
    expect([await verified(body, headers), await verified(`${body} `, headers)]).toEqual([true, false]);
    expect(await verified(body, [headers[0]!, String(Number(headers[1]) - 301), headers[2]!])).toBe(false);
    expect(stdout).toContain('"status":"verified"');
    expect(shop.requests).toHaveLength(2);
  });
});
