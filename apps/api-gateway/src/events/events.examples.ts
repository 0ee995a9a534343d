import type { AccountEvent } from '@market/contracts/reputation';
import { BUYER_ID, EARLIER, GATEWAY_REQUEST_ID, LISTING_REF } from '../openapi/example-values.js';

export const eventExample: AccountEvent = {
  id: '42',
  type: 'sale',
  at: EARLIER,
  data: {
    request_id: GATEWAY_REQUEST_ID,
    listing_id: LISTING_REF.id,
    buyer_id: BUYER_ID,
    charged_amount: { amount_cents: 2, currency: 'USD' },
    fee_amount_cents: 0.1,
  },
};

export const streamExample = `id: 42\nevent: sale\ndata: ${JSON.stringify(eventExample)}\n\n`;
