import type { Micros } from '@market/kernel';

/** Where a price is read. It throws when it does not know, in words that hold no address and no key. */
export interface PriceSource {
  read(): Promise<{ micros: Micros; at: Date }>;
}
