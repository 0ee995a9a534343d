import type { BalanceView } from '@market/contracts/payments-ledger';
import { usdNumber, type Micros } from '@market/kernel';

export const toUsdAmount = (micros: Micros): BalanceView['earned'] => ({
  micros: micros.toString(),
  usd: usdNumber(micros),
});
