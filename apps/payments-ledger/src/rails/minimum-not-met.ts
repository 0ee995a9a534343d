import { createOffer } from '@market/contracts/payments-ledger';
import { refuse, type Refusal } from '@market/messaging';

export const minimumNotMet = (): Refusal =>
  refuse(createOffer, 'payment_route_minimum_not_met', {
    seller_endpoint_called: false,
    recommended_origin_currency: 'SOL',
    recommended_gateway_headers: { 'X-Market-Origin-Currency': 'SOL' },
  });
