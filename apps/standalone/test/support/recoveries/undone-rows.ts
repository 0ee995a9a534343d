import { reply } from '@market/sdk/seller';
import { eventually, withClient } from '@market/testing';
import { callOnce, quote, resultOf, withRelayId } from '../buyer.js';
import { BODY, call, isBillable, paidFor, signedCall } from './calls-rows.js';
import type { Rows } from './walk.js';

/** Answers that are no refusals and say what is still to be done: 202, and a call that was not delivered. */
export const undoneRows: Rows = {
  async '202 payment_not_final retry_same_request'(world) {
    const [{ shop }, buyer] = [await world.shop(), await world.agent()];
    const offer = await quote(buyer, shop.listing, BODY);
    const finalAt = (time: string): Promise<unknown> =>
      withClient(world.harness.databaseUrl, (client) =>
        client.query(`UPDATE payments_ledger.sandbox_transfers SET final_at = ${time} WHERE payment_id = $1`, [
          offer.payment_id,
        ]),
      );
    await buyer.market.sandbox.pay(offer.relay_request_id, { outcome: 'pending' });
    await finalAt("now() + interval '1 hour'");
    return {
      request: call(buyer, shop, { headers: withRelayId(offer.relay_request_id) }),
      follow: () => finalAt('now()').then(() => undefined),
      check: isBillable,
    };
  },
  async '202 call_in_progress retry_same_request'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    let answer: (body: object) => void = () => undefined;
    const shop = await world.open(seller, () => new Promise((resolve) => (answer = resolve)));
    const headers = await paidFor(buyer, shop);
    const first = callOnce(buyer, shop.listing, BODY, headers);
    await eventually(() => expect(shop.requests).toHaveLength(1));
    return {
      request: call(buyer, shop, { headers }),
      async follow() {
        answer({ late: true });
        isBillable(await first);
      },
      check: async (repeated) => expect(resultOf(repeated)).toEqual(resultOf(await first)),
    };
  },
  async '200 seller_error retry_same_request'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    let works = false;
    const shop = await world.open(seller, ({ body }) => (works ? { echo: body } : reply(500, {})));
    return {
      request: call(buyer, shop, { headers: await paidFor(buyer, shop) }),
      follow: () => void (works = true),
      check: isBillable,
    };
  },
  async '200 seller_error retry_after_delay'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    let works = false;
    const shop = await world.open(seller, ({ body }) => (works ? { echo: body } : reply(500, {})), {
      pricing_amount: 0,
    });
    return { request: call(buyer, shop), follow: () => void (works = true) };
  },
  async '200 seller_refused fix_request'(world) {
    const [seller, buyer] = [await world.agent(), await world.agent()];
    const shop = await world.open(seller, ({ body }) => ('right' in (body as object) ? { ok: true } : reply(422, {})));
    const body = { right: true };
    return {
      request: call(buyer, shop, { headers: await paidFor(buyer, shop) }),
      // The payment was for the other body, so this one has its own.
      follow: async () => ({ body, headers: await paidFor(buyer, shop, body) }),
      check: isBillable,
    };
  },
  async '200 seller_refused choose_another_listing'(world) {
    const [{ shop: other }, seller, buyer] = [await world.shop(), await world.agent(), await world.agent()];
    const shop = await world.open(seller, () => reply(401, {}));
    return {
      request: call(buyer, shop, { headers: await paidFor(buyer, shop) }),
      follow: async () => ({ path: `/gateway/${other.listing.id}`, headers: await paidFor(buyer, other) }),
      check: isBillable,
    };
  },
};

/** Signatures that are refused with a 402, which the next one pays. */
export const rejectionRows: Rows = {
  async 'accepted_mismatch pay_and_retry'(world) {
    const { shop } = await world.shop();
    const signed = await signedCall(world, shop);
    const payload = JSON.parse(Buffer.from(signed.headers!['payment-signature']!, 'base64').toString()) as {
      accepted: { maxTimeoutSeconds: number };
    };
    payload.accepted.maxTimeoutSeconds -= 1;
    const altered = Buffer.from(JSON.stringify(payload)).toString('base64');
    return {
      request: { ...signed, headers: { 'payment-signature': altered } },
      follow: async () => ({ headers: (await signedCall(world, shop)).headers }),
      check: isBillable,
    };
  },
};
