import { openContent, readStream } from '@market/contracts/gateway';
import { collectPayment, releasePayment, settlePayment } from '@market/contracts/payments-ledger';
import { newId } from '@market/kernel';
import { verifyRequest } from '@market/sdk/seller';
import { eventually } from '@market/testing';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { EventEmitter } from 'node:events';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { signed } from '../../../payments-ledger/test/support/signed-payload.js';
import {
  as,
  BODY,
  expectOutcome,
  resultOf,
  startGateway,
  type GatewayHarness,
  type Outcome,
  type Shop,
} from '../support/gateway-harness.js';

/** Each crash is simulated by losing one message, after which the attempt does nothing more. */
describe('a call that is answered with a stream', () => {
  let harness: GatewayHarness;
  const asked = new EventEmitter();
  beforeAll(async () => {
    harness = await startGateway({
      replicas: 2,
      env: {
        GATEWAY_WAIT_FOR_RESULT_MS: '200',
        GATEWAY_RESUME_INTERVAL_MS: '200',
        PAYMENTS_LEDGER_RESUME_INTERVAL_MS: '200',
      },
    });
  });
  afterAll(() => harness.stop());

  const open = (): Promise<Shop> =>
    harness.open({ formats: ['sse'] } as Parameters<GatewayHarness['open']>[0], (_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      asked.emit('call', response);
    });
  const nextCall = async (): Promise<ServerResponse> => ((await once(asked, 'call')) as [ServerResponse])[0];

  interface Sale {
    buyer: string;
    shop: Shop;
    relayRequestId: string;
    ask: () => Promise<Outcome>;
  }
  const paid = async (): Promise<Sale> => {
    const [buyer, shop] = [newId(), await open()];
    const relayRequestId = await harness.buy(buyer, shop);
    return { buyer, shop, relayRequestId, ask: () => harness.call(buyer, shop, BODY, { relayRequestId }) };
  };
  /** A call that is only signed for. */
  const signedFor = async (): Promise<Sale> => {
    const [buyer, shop] = [newId(), await open()];
    const { payment } = await harness.quote(buyer, shop);
    const { relay_request_id: relayRequestId } = payment;
    const authorization = await signed({ offer: payment } as never, privateKeyToAccount(generatePrivateKey()));
    return {
      buyer,
      shop,
      relayRequestId,
      ask: () => harness.call(buyer, shop, BODY, { relayRequestId, authorization }),
    };
  };
  /** Asks, and lets the seller send one event. */
  const begin = async (sale: Sale): Promise<{ response: ServerResponse; outcome: Promise<Outcome> }> => {
    const calling = nextCall();
    const outcome = sale.ask();
    const response = await calling;
    response.write('data: one\n\n');
    return { response, outcome };
  };
  const stateOf = async ({ relayRequestId }: Sale): Promise<string> => (await harness.paymentOf(relayRequestId)).state;
  const facts = async (sale: Sale): Promise<[number, number, string]> => [
    sale.shop.seller.requests.length,
    await harness.chargesOf(sale.relayRequestId),
    await stateOf(sale),
  ];
  /** The whole text of a stream, with the gateway result. */
  const followed = async (
    { buyer }: Sale,
    { callId, contentId }: { callId: string; contentId: string },
  ): Promise<{ text: string; result: Record<string, unknown> | null }> => {
    let text = '';
    for (;;) {
      const offset = Buffer.byteLength(text);
      const read = await harness.edge.request(readStream, { callId, contentId, offset }, as(buyer));
      text += read.text;
      if (read.state === 'ended') return { text, result: JSON.parse(read.dataJson!) as Record<string, unknown> };
      if (read.state === 'cut') return { text, result: null };
    }
  };

  it('is opened when its first event is stored, and charged when it has ended', async () => {
    for (const sale of [await paid(), await signedFor()]) {
      const { response, outcome } = await begin(sale);
      const { stream } = expectOutcome(await outcome, 'streaming');
      expect(stream).toMatchObject({ attempt: 1, text: 'data: one\n\n' });
      expect(await facts(sale)).toEqual([1, 0, 'verified']);
      // Another process joins it, with what is stored.
      expect(expectOutcome(await sale.ask(), 'streaming').stream).toMatchObject({ contentId: stream.contentId });
      const opened = await harness.edge.request(openContent, { requestId: stream.callId }, as(sale.buyer));
      expect(opened).toEqual({ stream: { ...stream, text: '' } });
      response.end('data: two\n\n');
      expect(await followed(sale, stream)).toMatchObject({
        text: 'data: one\n\ndata: two\n\n',
        result: { billable: true },
      });
      expect(await facts(sale)).toEqual([1, 1, 'completed']);
      expect(resultOf(expectOutcome(await sale.ask(), 'answered'))).toMatchObject({ billable: true });
    }
  });

  it('is shown to nobody while it is not known whether it is paid for, and is answered when that is known', async () => {
    const sale = await signedFor();
    const heal = harness.transport.lose(collectPayment, 'answer');
    const { response, outcome } = await begin(sale);
    expect(expectOutcome(await outcome, 'pending')).toMatchObject({ reason: 'settlement_unknown' });
    expect(expectOutcome(await sale.ask(), 'pending').reason).toBe('call_in_progress');
    heal();
    response.end('data: two\n\n');
    await eventually(async () =>
      expect(resultOf(expectOutcome(await sale.ask(), 'answered'))).toMatchObject({ billable: true }),
    );
    expect(await facts(sale)).toEqual([1, 1, 'completed']);
  });

  it('that breaks off before anybody has seen it leaves the payment good for another attempt', async () => {
    const sale = await signedFor();
    const heal = harness.transport.lose(collectPayment, 'answer');
    const { response, outcome } = await begin(sale);
    expectOutcome(await outcome, 'pending');
    heal();
    response.destroy();
    const calling = nextCall();
    const again = eventually(async () => expectOutcome(await sale.ask(), 'streaming'));
    const second = await calling;
    second.end('data: again\n\n');
    await again;
    await eventually(async () => expect(await facts(sale)).toEqual([2, 1, 'completed']));
  });

  it('that breaks off is owed back by the job if the ledger is away then, and is not made again', async () => {
    for (const loss of ['request', 'answer'] as const) {
      const sale = await paid();
      const { response, outcome } = await begin(sale);
      const { stream } = expectOutcome(await outcome, 'streaming');
      const heal = harness.transport.lose(releasePayment, loss);
      response.destroy();
      await eventually(async () =>
        expect((await harness.history(sale.buyer)).items[0]).toMatchObject({
          status: expect.stringMatching(/^(seller_failed|refund_due)$/) as string,
        }),
      );
      heal();
      expect(await followed(sale, stream)).toMatchObject({
        text: 'data: one\n\n',
        result: { billable: false, seller_response: { events: 1, outcome: 'broken' } },
      });
      expect(resultOf(expectOutcome(await sale.ask(), 'answered'))).toMatchObject({ billable: false });
      expect(await facts(sale)).toEqual([1, 0, 'refund_due']);
    }
  });

  it('is charged by the job if the ledger is away when it ends', async () => {
    const sale = await signedFor();
    const { response, outcome } = await begin(sale);
    const { stream } = expectOutcome(await outcome, 'streaming');
    const heal = harness.transport.lose(settlePayment, 'request');
    response.end();
    await eventually(async () =>
      expect((await harness.history(sale.buyer)).items[0]).toMatchObject({ status: 'settling' }),
    );
    heal();
    expect((await followed(sale, stream)).result).toMatchObject({ billable: true });
    expect(await facts(sale)).toEqual([1, 1, 'completed']);
  });

  it('is taken up by another attempt after its process has lost its lock, and the first that ends is charged', async () => {
    const sale = await paid();
    const { response, outcome } = await begin(sale);
    expectOutcome(await outcome, 'streaming');
    const mend = [0, 1].map((replica) => harness.cutLocks(replica));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    for (const each of mend) each();
    response.end('data: two\n\n');
    await eventually(async () =>
      expect(resultOf(expectOutcome(await sale.ask(), 'answered'))).toMatchObject({ billable: true }),
    );
    expect((await facts(sale)).slice(1)).toEqual([1, 'completed']);
    for (const request of sale.shop.seller.requests)
      expect(verifyRequest({ ...request, secret: sale.shop.secret }).requestId).toBeTruthy();
  });
});
