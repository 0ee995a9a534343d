import { challengePurpose } from '@market/contracts/identity';
import { createSiweMessage, parseSiweMessage } from 'viem/siwe';
import { signInMessage, type SignInRequest } from './sign-in-message.js';

const request: SignInRequest = {
  wallet: { chainType: 'evm', address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed' },
  purpose: 'registration',
  publicUrl: 'https://market.example',
  chainId: null,
  nonce: '0123456789abcdef0123456789abcdef',
  issuedAt: new Date('2026-01-02T03:04:05.006Z'),
  expiresAt: new Date('2026-01-02T03:09:05.006Z'),
  agentId: null,
  humanId: null,
};
const agentId = '018f6d1e-0000-7000-8000-000000000001';

describe('signInMessage', () => {
  it.each([
    ['https://market.example', null],
    ['http://localhost:3000', agentId],
    ['http://127.0.0.1:8080', agentId],
  ])('writes the text a stock EIP-4361 library writes, at %s about agent %s', (publicUrl, agent) => {
    const message = signInMessage({ ...request, publicUrl, agentId: agent, chainId: '8453' });
    const fields = parseSiweMessage(message);
    expect(message).toBe(
      createSiweMessage({
        address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        chainId: 8453,
        domain: new URL(publicUrl).host,
        nonce: request.nonce,
        uri: publicUrl,
        version: '1',
        statement: fields.statement,
        issuedAt: request.issuedAt,
        expirationTime: request.expiresAt,
        resources: agent ? [`urn:uuid:${agent}`] : undefined,
      }),
    );
    expect(fields).toMatchObject({
      statement: expect.stringContaining('registration') as string,
      issuedAt: request.issuedAt,
      expirationTime: request.expiresAt,
    });
  });

  it('has the same form for Solana', () => {
    expect(
      signInMessage({
        ...request,
        wallet: { chainType: 'solana', address: '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T' },
      }),
    ).toBe(
      [
        'market.example wants you to sign in with your Solana account:',
        '4Nd1mBQtrMJVYVfKf2PJy9NZUZdTAsp7D4xWLs4gDB4T',
        '',
        'Purpose: registration. Open an agent account for this wallet.',
        '',
        'URI: https://market.example',
        'Version: 1',
        'Chain ID: mainnet',
        'Nonce: 0123456789abcdef0123456789abcdef',
        'Issued At: 2026-01-02T03:04:05.006Z',
        'Expiration Time: 2026-01-02T03:09:05.006Z',
      ].join('\n'),
    );
  });

  it('differs whenever one thing it is bound to differs', () => {
    const variants: Partial<SignInRequest>[] = [
      ...challengePurpose.options.map((purpose) => ({ purpose })),
      { wallet: { chainType: 'evm', address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359' } },
      { publicUrl: 'https://market.example.org' },
      { publicUrl: 'http://market.example' },
      { chainId: '10' },
      { nonce: 'fedcba9876543210fedcba9876543210' },
      { issuedAt: new Date('2026-01-02T03:04:05.007Z') },
      { expiresAt: new Date('2026-01-02T03:09:05.007Z') },
      { agentId },
    ];
    const messages = variants.map((variant) => signInMessage({ ...request, ...variant }));
    expect(new Set(messages).size).toBe(variants.length);
  });
});
