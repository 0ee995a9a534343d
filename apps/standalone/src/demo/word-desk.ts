import { reply, sellerServer, type SellerServer } from '@market/sdk';

export interface WordCount {
  words: number;
  longest: string;
}

interface Question {
  text?: string;
}

/** What the seller sells: a text's words, counted, by a real HTTP server that only the marketplace may call. */
export class WordDesk {
  #secrets: string[] = [];
  #server: SellerServer | undefined;
  #url = new URL('http://closed.invalid');
  isDown = false;
  /** Paid questions answered or failed; tests of the endpoint do not count. */
  questions = 0;

  /** @param publicHost under which the marketplace reaches this machine, when that is not itself. */
  async open(publicHost?: string): Promise<string> {
    this.#server = await sellerServer<Question>(
      ({ body, call }) => {
        if (call.event === 'endpoint.test') return { ready: true };
        this.questions += 1;
        return this.isDown ? reply(503, { error: 'the desk is closed' }) : count(body.text ?? '');
      },
      { secret: () => this.#secrets, host: publicHost ? '0.0.0.0' : '127.0.0.1' },
    );
    this.#url = new URL(this.#server.url);
    if (publicHost) this.#url.hostname = publicHost;
    return this.#url.href;
  }

  /** `host:port`. */
  get address(): string {
    return this.#url.host;
  }

  trust(secret: string): void {
    this.#secrets = [secret];
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }
}

function count(text: string): WordCount {
  const words = text.match(/\p{L}+/gu) ?? [];
  return { words: words.length, longest: words.reduce((longest, word) => (word.length > longest.length ? word : longest), '') };
}
