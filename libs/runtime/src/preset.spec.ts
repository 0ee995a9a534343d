import { settingsOf } from './preset.js';

it('takes real money on the chain of a preset, and what is given wins', () => {
  const given = { PAYMENTS_PRESET: 'base', PAYMENTS_RPC_URL: 'https://base.example' };
  expect(settingsOf(given)).toEqual({
    ...given,
    PAYMENTS_MODE: 'live',
    PAYMENTS_LEDGER_X402_CHAINS: 'eip155:8453=https://base.example',
  });
  expect(settingsOf({ PAYMENTS_PRESET: 'base' })).toMatchObject({ PAYMENTS_LEDGER_X402_CHAINS: 'eip155:8453' });
  expect(settingsOf({ ...given, PAYMENTS_MODE: 'sandbox' })).toMatchObject({ PAYMENTS_MODE: 'sandbox' });
  expect(settingsOf({ PORT: '1' })).toEqual({ PORT: '1' });
});

it('knows the presets that there are', () => {
  expect(() => settingsOf({ PAYMENTS_PRESET: 'bas' })).toThrow(
    'PAYMENTS_PRESET: must be one of base, polygon, arbitrum, solana',
  );
});
