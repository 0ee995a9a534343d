import { getOffering } from '@market/contracts/catalog';
import { endpointTouched, getEndpoint } from '@market/contracts/gateway';
import { newId } from '@market/kernel';
import { BusFailure, isRefusal, newRequestContext } from '@market/messaging';
import { FakeBus } from './fake-bus.js';

const offering = () => ({
  listingId: newId(),
  slug: 'weather',
  name: 'Weather',
  sellerId: newId(),
  status: 'active' as const,
  pricingModel: 'per_call' as const,
  priceMicros: '10000',
  preferredCurrency: 'USDC' as const,
  category: null,
});

describe('FakeBus', () => {
  it('answers as the test says, and remembers what was asked and signalled', async () => {
    const sold = offering();
    const bus = new FakeBus('gateway').answers(getOffering, () => sold);
    expect(await bus.request(getOffering, { ref: 'weather' }, newRequestContext())).toEqual(sold);
    bus.signal(endpointTouched, { listingId: sold.listingId });
    expect(bus.asked(getOffering)).toEqual([{ ref: 'weather' }]);
    expect(bus.signalled(endpointTouched)).toEqual([{ listingId: sold.listingId }]);
  });

  it('refuses as the contract declares', async () => {
    const bus = new FakeBus('gateway').refuses(getOffering, 'listing_not_found', {});
    const error = await bus
      .request(getOffering, { ref: 'gone' }, newRequestContext())
      .catch((reason: unknown) => reason);
    expect(isRefusal(error, getOffering, 'listing_not_found')).toBe(true);
  });

  it('lets no shape pass that its contract does not', async () => {
    const bus = new FakeBus('gateway').answers(getOffering, () => ({ ...offering(), priceMicros: '0.01' }));
    await expect(bus.request(getOffering, { ref: 'weather' }, newRequestContext())).rejects.toThrow(BusFailure);
    await expect(bus.request(getOffering, { ref: '' }, newRequestContext())).rejects.toThrow(BusFailure);
  });

  it('lets a service ask only what its topology declares', async () => {
    const bus = new FakeBus('catalog');
    await expect(bus.request(getEndpoint, { listing_id: newId() }, newRequestContext())).rejects.toThrow(
      'not declared',
    );
  });

  it('is unavailable where the test gave no answer', async () => {
    await expect(
      new FakeBus('gateway').request(getOffering, { ref: 'weather' }, newRequestContext()),
    ).rejects.toMatchObject({
      reason: 'dependency_unavailable',
    });
  });
});
