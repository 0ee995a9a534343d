/** Ascending slots, each once. What has few slots is sooner done this way than as bits of all. */
export type SlotList = Uint32Array;

export function inBoth(slots: SlotList, others: SlotList): SlotList {
  const kept = new Uint32Array(Math.min(slots.length, others.length));
  let [count, other] = [0, 0];
  for (let index = 0; index < slots.length; index += 1) {
    const slot = slots[index]!;
    while (other < others.length && others[other]! < slot) other += 1;
    if (other === others.length) break;
    if (others[other] === slot) kept[count++] = slot;
  }
  return kept.subarray(0, count);
}

export function inEither(slots: SlotList, others: SlotList): SlotList {
  const all = new Uint32Array(slots.length + others.length);
  let [count, index, other] = [0, 0, 0];
  while (index < slots.length && other < others.length) {
    const slot = slots[index]!;
    const another = others[other]!;
    all[count++] = Math.min(slot, another);
    if (slot <= another) index += 1;
    if (another <= slot) other += 1;
  }
  while (index < slots.length) all[count++] = slots[index++]!;
  while (other < others.length) all[count++] = others[other++]!;
  return all.subarray(0, count);
}

/** @param others some of the same slots. */
export function without(slots: SlotList, others: SlotList): SlotList {
  const kept = new Uint32Array(slots.length - others.length);
  let [count, other] = [0, 0];
  for (let index = 0; index < slots.length; index += 1) {
    if (other < others.length && others[other] === slots[index]) other += 1;
    else kept[count++] = slots[index]!;
  }
  return kept;
}
