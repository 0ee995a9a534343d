import type { InputOf, OutputOf } from '@market/contracts';
import {
  findPayerWallet,
  findSettlementWallets,
  getWallet,
  linkWallet,
  listWallets,
  updateWallet,
} from '@market/contracts/identity';
import { HandleRequest, principalOf, type Call } from '@market/messaging';
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
  listWallets(_input: InputOf<typeof listWallets>, call: Call): Promise<OutputOf<typeof listWallets>> {
    return this.readWallets.list(principalOf(call).accountId);
  }

  @HandleRequest(getWallet)
  getWallet({ walletId }: InputOf<typeof getWallet>, call: Call): Promise<OutputOf<typeof getWallet>> {
    return this.readWallets.get(walletId, principalOf(call).accountId);
  }

  @HandleRequest(linkWallet)
  linkWallet(input: InputOf<typeof linkWallet>, call: Call): Promise<OutputOf<typeof linkWallet>> {
    return this.linkWalletUseCase.execute(input, call);
  }

  @HandleRequest(updateWallet)
  updateWallet(input: InputOf<typeof updateWallet>, call: Call): Promise<OutputOf<typeof updateWallet>> {
    return this.updateWalletUseCase.execute(input, principalOf(call).accountId);
  }

  @HandleRequest(findPayerWallet)
  findPayerWallet(
    { walletId }: InputOf<typeof findPayerWallet>,
    call: Call,
  ): Promise<OutputOf<typeof findPayerWallet>> {
    return this.readWallets.findPayer(walletId, principalOf(call).accountId);
  }

  @HandleRequest(findSettlementWallets)
  findSettlementWallets(
    input: InputOf<typeof findSettlementWallets>,
    call: Call,
  ): Promise<OutputOf<typeof findSettlementWallets>> {
    return this.readWallets.findForSettlement(input, principalOf(call).accountId);
  }
}
