import type { InputOf } from '@market/contracts';
import {
  findPaidSeller,
  findPayerWallet,
  findPayoutWallets,
  findSettlementWallets,
  getWallet,
  linkWallet,
  listWallets,
  updateWallet,
} from '@market/contracts/identity';
import { HandleRequest, principalOf, type RequestContext } from '@market/messaging';
import { Controller } from '@nestjs/common';
import { LinkWallet } from './link-wallet.use-case.js';
import { ReadWallets } from './read-wallets.query.js';
import { UpdateWallet } from './update-wallet.use-case.js';

@Controller()
export class WalletsMessageController {
  constructor(
    private readonly readWallets: ReadWallets,
    private readonly linkWalletUseCase: LinkWallet,
    private readonly updateWalletUseCase: UpdateWallet,
  ) {}

  @HandleRequest(listWallets)
  listWallets(_input: InputOf<typeof listWallets>, context: RequestContext) {
    return this.readWallets.list(principalOf(context).accountId);
  }

  @HandleRequest(getWallet)
  getWallet({ wallet_id }: InputOf<typeof getWallet>, context: RequestContext) {
    return this.readWallets.get(wallet_id, principalOf(context).accountId);
  }

  @HandleRequest(linkWallet)
  linkWallet(input: InputOf<typeof linkWallet>, context: RequestContext) {
    return this.linkWalletUseCase.execute(input, context);
  }

  @HandleRequest(updateWallet)
  updateWallet(input: InputOf<typeof updateWallet>, context: RequestContext) {
    return this.updateWalletUseCase.execute(input, principalOf(context).accountId);
  }

  @HandleRequest(findPayerWallet)
  findPayerWallet({ walletId }: InputOf<typeof findPayerWallet>, context: RequestContext) {
    return this.readWallets.findPayer(walletId, principalOf(context).accountId);
  }

  @HandleRequest(findSettlementWallets)
  findSettlementWallets(input: InputOf<typeof findSettlementWallets>, context: RequestContext) {
    return this.readWallets.findForSettlement(input, principalOf(context).accountId);
  }

  @HandleRequest(findPayoutWallets)
  findPayoutWallets(input: InputOf<typeof findPayoutWallets>) {
    return this.readWallets.findPayouts(input);
  }

  @HandleRequest(findPaidSeller)
  findPaidSeller({ address }: InputOf<typeof findPaidSeller>) {
    return this.readWallets.findPaidSeller(address);
  }
}
