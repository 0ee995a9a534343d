import { createHash } from 'node:crypto';
import { bytesOf, isFile, type FileAnswer } from './file.js';
import type { GatewayResult } from './types.js';

describe('a file that a call was answered with', () => {
  const bytes = Buffer.from([0, 255, 10, 13, 128]);
  const file: FileAnswer = {
    content_type: 'image/png',
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    content_url: '/api/v1/gateway-requests/1/content',
  };
  const base64 = bytes.toString('base64');
  let reads = 0;
  const read = (): Promise<Uint8Array> => {
    reads += 1;
    return Promise.resolve(bytes);
  };
  const bytesIn = (answer: unknown) => bytesOf({ seller_response: answer } as GatewayResult, read);

  it('is in the answer, or read where the answer leaves it out', async () => {
    expect(Buffer.from(await bytesIn({ ...file, base64 }))).toEqual(bytes);
    expect(reads).toBe(0);
    expect(Buffer.from(await bytesIn({ ...file, content_url: null }))).toEqual(bytes);
    expect(reads).toBe(1);
  });

  it.each<[string, Partial<FileAnswer>]>([
    ['other bytes', { base64: Buffer.from('other').toString('base64') }],
    ['no base64', { base64: '%' }],
    ['another digest', { sha256: '0'.repeat(64) }],
  ])('is refused with %s', async (_what, change) => {
    await expect(bytesIn({ ...file, ...change })).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
  });

  it.each([null, undefined, 'text', [file], {}, { ...file, size: '5' }, { ...file, content_url: undefined }])(
    'is not %j',
    async (answer) => {
      expect(isFile(answer)).toBe(false);
      await expect(bytesIn(answer)).rejects.toMatchObject({ name: 'MarketplaceError', code: 'NO_FILE' });
    },
  );
});
