import { Backpressure } from './backpressure.js';

describe('Backpressure', () => {
  it('lasts a moment from the first refusal, however many more come in it', () => {
    let now = 1_000;
    const backpressure = new Backpressure(() => now);
    expect(backpressure.isOn).toBe(false);
    backpressure.refused();
    now += 49;
    expect(backpressure.isOn).toBe(true);
    backpressure.refused();
    now += 1;
    expect(backpressure.isOn).toBe(false);
    backpressure.refused();
    expect(backpressure.isOn).toBe(true);
  });
});
