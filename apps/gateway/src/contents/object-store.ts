import { newId, UnavailableError } from '@market/kernel';
import { AwsClient } from 'aws4fetch';

const TIMEOUT_MS = 10_000;
const DELETED_AT_ONCE = 16;

/**
 * Objects in a bucket of a server that speaks the protocol of S3.
 * @param url `https://<key>:<secret>@<host>/<bucket>`, with `?region=` where it is not us-east-1.
 */
export class ObjectStore {
  private readonly client: AwsClient;
  private readonly bucket: string;

  constructor(url: string) {
    const { username, password, origin, pathname, searchParams } = new URL(url);
    this.client = new AwsClient({
      accessKeyId: decodeURIComponent(username),
      secretAccessKey: decodeURIComponent(password),
      service: 's3',
      region: searchParams.get('region') ?? 'us-east-1',
      retries: 2,
    });
    this.bucket = `${origin}${pathname.replace(/\/$/, '')}`;
  }

  async put(key: string, bytes: Buffer): Promise<void> {
    const response = await this.send('PUT', key, bytes);
    await response.body?.cancel();
  }

  /** @returns null if there is no such object. */
  async get(key: string): Promise<Buffer | null> {
    const response = await this.send('GET', key);
    if (response.ok) return Buffer.from(await response.arrayBuffer());
    await response.body?.cancel();
    return null;
  }

  /** Objects that are not there count as deleted. */
  async delete(keys: string[]): Promise<void> {
    for (let n = 0; n < keys.length; n += DELETED_AT_ONCE)
      await Promise.all(
        keys.slice(n, n + DELETED_AT_ONCE).map(async (key) => (await this.send('DELETE', key)).body?.cancel()),
      );
  }

  /** @throws UnavailableError unless the server does it, or has no such object. */
  private async send(method: string, key: string, body?: Buffer): Promise<Response> {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await this.client.fetch(`${this.bucket}/${key}`, {
        method,
        body: body as Uint8Array<ArrayBuffer>,
        signal,
      });
      if (response.ok || (response.status === 404 && method !== 'PUT')) return response;
      throw new Error(`${method} was answered with ${response.status}`);
    } catch (cause) {
      throw new UnavailableError('the store of files', { cause });
    }
  }
}

/** Checks whether objects can be stored and deleted. */
export async function storeProblems(url: string): Promise<string[]> {
  const store = new ObjectStore(url);
  const key = `check-${newId()}`;
  try {
    await store.put(key, Buffer.from('check'));
    await store.delete([key]);
    return [];
  } catch (error) {
    const { message } = (error as Error).cause as Error;
    return [`GATEWAY_STORE_URL: the store of files cannot be used (${message})`];
  }
}
