import { executeKeylessCall } from '@market/contracts/gateway';
import { keylessOfferExample } from '../../src/gateway/gateway.examples.js';
import { listingExample } from '../../src/listings/listings.examples.js';
import { bazaarOf } from '../../src/x402/bazaar-resource.js';
import { EdgeHarness } from '../support/edge-harness.js';
import { send } from '../support/http.js';

describe('POST /x402/{listingId}', () => {
  let harness: EdgeHarness;
  beforeAll(async () => (harness = await EdgeHarness.start()));
  afterAll(() => harness.stop());

  it('says of a call what discovery says of it, and in the header what indexers read', async () => {
    const { slug, name, input_schema, example_input, output_schema } = listingExample;
    harness.bus.answers(executeKeylessCall, () => ({
      outcome: 'payment_required' as const,
      listing: {
        ...{ slug, name },
        inputSchema: JSON.stringify(input_schema),
        exampleInput: JSON.stringify(example_input),
        outputSchema: JSON.stringify(output_schema),
      },
      offers: [keylessOfferExample],
      signatures: [],
    }));
    const { headers, json } = await send(harness, 'POST', `/x402/${slug}`);
    const { payment } = (json as unknown as { data: { payment: { x402: { extensions: object } } } }).data;
    const discovered = bazaarOf(listingExample);
    expect(discovered.info.output).toEqual({ type: 'json' });
    expect(payment.x402.extensions).toMatchObject({ bazaar: discovered });
    const header = Buffer.from(headers['payment-required'] as string, 'base64').toString();
    expect(JSON.parse(header)).toMatchObject({ extensions: { bazaar: { info: discovered.info } } });
  });
});
