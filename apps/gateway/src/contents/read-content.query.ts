import type { InputOf, OutputOf } from '@market/contracts';
import { openContent, type OpenStream, readContent, readStream, type StoredContent } from '@market/contracts/gateway';
import { HandleRequest, principalOf, refuse, type RequestContext } from '@market/messaging';
import { Database, sql } from '@market/persistence';
import { Injectable } from '@nestjs/common';
import { sellerJsonOf } from '../calls/answer-json.js';
import { CONTENT } from '../calls/result-columns.js';
import { Contents } from './contents.js';

const find = sql(
  'gateway-requests.find-content',
  `SELECT g.listing_id, ${CONTENT}, result_json AS "dataJson" FROM gateway_requests g
   WHERE g.id = $1 AND g.buyer_id = $2 AND (billable OR is_broken) AND settled_at IS NOT NULL
     AND (content_id IS NOT NULL OR (billable AND EXISTS (SELECT FROM jobs j WHERE j.call_id = g.id)))`,
);
const findOpen = sql(
  'contents.find-open-of-call',
  `SELECT g.listing_id, c.call_id AS "callId", c.id AS "contentId", c.attempt
   FROM contents c JOIN gateway_requests g ON g.id = c.call_id
   WHERE c.buyer_id = $2 AND c.call_id = $1 AND c.open_until > now() ORDER BY c.attempt DESC LIMIT 1`,
);
/** What became of a stream; no row if its call has another result or none. */
const findEnd = sql(
  'gateway-requests.find-end-of-stream',
  `SELECT result_json AS "dataJson", settled_at IS NOT NULL AS "isFinal" FROM gateway_requests
   WHERE id = $1 AND content_id = $2 AND (billable OR is_broken) AND result_json IS NOT NULL`,
);
const isOpen = sql('contents.is-open', 'SELECT open_until > now() AS "isOpen" FROM contents WHERE id = $1');

/** Reads the files and streams that calls were answered with. */
@Injectable()
export class ReadContent {
  constructor(
    private readonly database: Database,
    private readonly contents: Contents,
  ) {}

  /**
   * Shows a file or stream to the buyer that has paid for it, with a key that could have bought it, and a stream also
   * while its seller sends it.
   */
  @HandleRequest(openContent)
  async open(
    { requestId }: InputOf<typeof openContent>,
    context: RequestContext,
  ): Promise<OutputOf<typeof openContent>> {
    const { accountId, budgets = [] } = principalOf(context);
    const mayRead = ({ listing_id }: { listing_id: string }): boolean =>
      budgets.every(({ listings }) => listings?.includes(listing_id) !== false);
    type Ended = { listing_id: string; content: StoredContent | null; dataJson: string | null };
    const [ended] = await this.database.query<Ended>(find, [requestId, accountId]);
    if (ended && mayRead(ended)) {
      if (ended.dataJson === null) throw refuse(openContent, 'result_not_kept', {});
      if (!ended.content) return { json: sellerJsonOf(ended.dataJson) };
      return { content: ended.content, dataJson: ended.dataJson };
    }
    type Open = Omit<OpenStream, 'text'> & { listing_id: string };
    const [open] = ended ? [] : await this.database.query<Open>(findOpen, [requestId, accountId]);
    if (!open || !mayRead(open)) throw refuse(openContent, 'content_not_found', {});
    const { listing_id: _, ...stream } = open;
    return { stream: { ...stream, text: '' } };
  }

  @HandleRequest(readContent)
  async read({ contentId, offset }: InputOf<typeof readContent>): Promise<OutputOf<typeof readContent>> {
    return { base64: (await this.contents.read(contentId, offset)).toString('base64') };
  }

  /** The end is looked for before the text is read, so that no text is missing when the stream has ended. */
  @HandleRequest(readStream)
  async follow({ callId, contentId, offset }: InputOf<typeof readStream>): Promise<OutputOf<typeof readStream>> {
    const [end] = await this.database.query<{ dataJson: string; isFinal: boolean }>(findEnd, [callId, contentId]);
    const [stored] = end ? [] : await this.database.query<{ isOpen: boolean }>(isOpen, [contentId]);
    const text = (await this.contents.read(contentId, offset)).toString();
    if (text !== '') return { text, state: 'open' };
    if (end?.isFinal) return { text, state: 'ended', dataJson: end.dataJson };
    return { text, state: end || stored?.isOpen ? 'open' : 'cut' };
  }
}
