import { currency, type Currency } from '@market/contracts';
import { OneOf, Uuid } from '../http/fields.js';

export class SubscribeBody {
  @Uuid()
  listing_id: string;

  @OneOf(currency.options, { optional: true, description: "What to pay with; the seller's preferred currency where it is left out." })
  origin_currency?: Currency;
}
