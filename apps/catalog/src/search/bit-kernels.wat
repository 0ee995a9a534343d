;; The loops that searches spend most of their time in, sixteen bytes a step: a tenth of what JavaScript takes.
;;
;; A set starts at an address that a multiple of 64 bytes follows. `bit-kernels.ts` holds this file as WebAssembly; its test says when
;; the two differ and prints what it should hold.
(module
  (import "sets" "memory" (memory 1))

  ;; Leaves in a set what is in both.
  (func (export "intersect") (param $set i32) (param $other i32) (param $bytes i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $set) (local.get $bytes)))
    (loop $next
      (v128.store (local.get $set) (v128.and (v128.load (local.get $set)) (v128.load (local.get $other))))
      (v128.store offset=16 (local.get $set) (v128.and (v128.load offset=16 (local.get $set)) (v128.load offset=16 (local.get $other))))
      (local.set $set (i32.add (local.get $set) (i32.const 32)))
      (local.set $other (i32.add (local.get $other) (i32.const 32)))
      (br_if $next (i32.lt_u (local.get $set) (local.get $end)))))

  ;; Adds to a set what is in another.
  (func (export "unite") (param $set i32) (param $other i32) (param $bytes i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $set) (local.get $bytes)))
    (loop $next
      (v128.store (local.get $set) (v128.or (v128.load (local.get $set)) (v128.load (local.get $other))))
      (v128.store offset=16 (local.get $set) (v128.or (v128.load offset=16 (local.get $set)) (v128.load offset=16 (local.get $other))))
      (local.set $set (i32.add (local.get $set) (i32.const 32)))
      (local.set $other (i32.add (local.get $other) (i32.const 32)))
      (br_if $next (i32.lt_u (local.get $set) (local.get $end)))))

  ;; Takes out of a set what is in another.
  (func (export "subtract") (param $set i32) (param $other i32) (param $bytes i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $set) (local.get $bytes)))
    (loop $next
      (v128.store (local.get $set) (v128.andnot (v128.load (local.get $set)) (v128.load (local.get $other))))
      (v128.store offset=16 (local.get $set) (v128.andnot (v128.load offset=16 (local.get $set)) (v128.load offset=16 (local.get $other))))
      (local.set $set (i32.add (local.get $set) (i32.const 32)))
      (local.set $other (i32.add (local.get $other) (i32.const 32)))
      (br_if $next (i32.lt_u (local.get $set) (local.get $end)))))

  ;; Whether two sets have anything in common.
  (func (export "meets") (param $set i32) (param $other i32) (param $bytes i32) (result i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $set) (local.get $bytes)))
    (loop $next
      (if (v128.any_true (v128.or
            (v128.and (v128.load (local.get $set)) (v128.load (local.get $other)))
            (v128.and (v128.load offset=16 (local.get $set)) (v128.load offset=16 (local.get $other)))))
        (then (return (i32.const 1))))
      (local.set $set (i32.add (local.get $set) (i32.const 32)))
      (local.set $other (i32.add (local.get $other) (i32.const 32)))
      (br_if $next (i32.lt_u (local.get $set) (local.get $end))))
    (i32.const 0))

  ;; How many slots a set has. Two counts of eight bits each fit a byte; neighbours are added until four sums of 32 bits are left.
  (func (export "count") (param $set i32) (param $bytes i32) (result i32)
    (local $end i32) (local $sums v128)
    (local.set $end (i32.add (local.get $set) (local.get $bytes)))
    (loop $next
      (local.set $sums (i32x4.add (local.get $sums) (i32x4.extadd_pairwise_i16x8_u (i16x8.extadd_pairwise_i8x16_u (i8x16.add
        (i8x16.popcnt (v128.load (local.get $set)))
        (i8x16.popcnt (v128.load offset=16 (local.get $set))))))))
      (local.set $set (i32.add (local.get $set) (i32.const 32)))
      (br_if $next (i32.lt_u (local.get $set) (local.get $end))))
    (i32.add
      (i32.add (i32x4.extract_lane 0 (local.get $sums)) (i32x4.extract_lane 1 (local.get $sums)))
      (i32.add (i32x4.extract_lane 2 (local.get $sums)) (i32x4.extract_lane 3 (local.get $sums)))))

  ;; Writes the slots of a part of a set, ascending, the first bit of which is slot $slot, and returns how many they are.
  (func (export "list") (param $part i32) (param $bytes i32) (param $slot i32) (param $into i32) (result i32)
    (local $end i32) (local $at i32) (local $bits i64)
    (local.set $end (i32.add (local.get $part) (local.get $bytes)))
    (local.set $at (local.get $into))
    (loop $next
      (local.set $bits (i64.load (local.get $part)))
      (if (i64.ne (local.get $bits) (i64.const 0))
        (then
          (loop $more
            (i32.store (local.get $at) (i32.add (local.get $slot) (i32.wrap_i64 (i64.ctz (local.get $bits)))))
            (local.set $at (i32.add (local.get $at) (i32.const 4)))
            (local.set $bits (i64.and (local.get $bits) (i64.sub (local.get $bits) (i64.const 1))))
            (br_if $more (i64.ne (local.get $bits) (i64.const 0))))))
      (local.set $slot (i32.add (local.get $slot) (i32.const 64)))
      (local.set $part (i32.add (local.get $part) (i32.const 8)))
      (br_if $next (i32.lt_u (local.get $part) (local.get $end))))
    (i32.shr_u (i32.sub (local.get $at) (local.get $into)) (i32.const 2))))
