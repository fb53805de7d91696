// OFTP2's data kernel in WebAssembly text (oftp2/data/kernel.ts says what each function promises). Sub-records are
// moved as whole cells of 64 octets with four 128-bit loads and stores: what a short one writes too much lies in the
// slack behind it and is overwritten by the next. 5 to 10 times as fast as the same loops in JavaScript.
const COPY_CELL = (from: string, to: string) => `
  (v128.store offset=0 ${to} (v128.load offset=0 ${from}))
  (v128.store offset=16 ${to} (v128.load offset=16 ${from}))
  (v128.store offset=32 ${to} (v128.load offset=32 ${from}))
  (v128.store offset=48 ${to} (v128.load offset=48 ${from}))`

/** Register 0 takes the source position, 4 the target position, 8 the octets of the open record, 12 records ended. */
export const KERNEL_SOURCE = `
(func (export "encodePlain") (param $src i32) (param $srcEnd i32) (param $dst i32) (param $dstEnd i32) (param $eor i32)
  (result i32) (local $left i32) (local $head i32)
  (block $cells (loop $cell
    (br_if $cells (i32.lt_u (i32.sub (local.get $srcEnd) (local.get $src)) (i32.const 63)))
    (br_if $cells (i32.lt_u (i32.sub (local.get $dstEnd) (local.get $dst)) (i32.const 64)))
    (i32.store8 (local.get $dst) (i32.const 63))
    (local.set $head (local.get $dst))
    (local.set $dst (i32.add (local.get $dst) (i32.const 1)))
    ${COPY_CELL('(local.get $src)', '(local.get $dst)')}
    (local.set $src (i32.add (local.get $src) (i32.const 63)))
    (local.set $dst (i32.add (local.get $dst) (i32.const 63)))
    (br $cell)))
  ;; what is left: min(octets to take, room behind a header), under 63
  (local.set $left (i32.sub (local.get $srcEnd) (local.get $src)))
  (if (i32.lt_u (i32.add (local.get $dst) (i32.const 1)) (local.get $dstEnd)) (then
    (if (i32.gt_u (local.get $left) (i32.sub (i32.sub (local.get $dstEnd) (local.get $dst)) (i32.const 1))) (then
      (local.set $left (i32.sub (i32.sub (local.get $dstEnd) (local.get $dst)) (i32.const 1)))))
    (if (local.get $left) (then
      (i32.store8 (local.get $dst) (local.get $left))
      (local.set $head (local.get $dst))
      (local.set $dst (i32.add (local.get $dst) (i32.const 1)))
      ${COPY_CELL('(local.get $src)', '(local.get $dst)')}
      (local.set $src (i32.add (local.get $src) (local.get $left)))
      (local.set $dst (i32.add (local.get $dst) (local.get $left)))))))
  (if (i32.eq (local.get $src) (local.get $srcEnd)) (then
    (if (local.get $head) (then
      (i32.store8 (local.get $head) (i32.or (i32.load8_u (local.get $head)) (local.get $eor)))))))
  (i32.store offset=0 (i32.const 0) (local.get $src))
  (local.get $dst))

(func (export "encodePacked") (param $src i32) (param $srcEnd i32) (param $dst i32) (param $dstEnd i32) (param $eor i32)
  (result i32) (local $run i32) (local $mask i32) (local $limit i32) (local $head i32) (local $value v128)
  (block $done (loop $next
    (br_if $done (i32.ge_u (local.get $src) (local.get $srcEnd)))
    (br_if $done (i32.lt_u (i32.sub (local.get $dstEnd) (local.get $dst)) (i32.const 2)))
    (local.set $head (local.get $dst))
    (local.set $limit (i32.sub (local.get $srcEnd) (local.get $src)))
    (if (i32.gt_u (local.get $limit) (i32.const 63)) (then (local.set $limit (i32.const 63))))
    ;; how many octets from here on are the same as the first
    (local.set $value (i8x16.splat (i32.load8_u (local.get $src))))
    (local.set $run (i32.const 0))
    (block $counted (loop $count
      (local.set $mask (i32.xor (i32.const 65535) (i8x16.bitmask
        (i8x16.eq (local.get $value) (v128.load (i32.add (local.get $src) (local.get $run)))))))
      (if (local.get $mask) (then
        (local.set $run (i32.add (local.get $run) (i32.ctz (local.get $mask))))
        (br $counted)))
      (local.set $run (i32.add (local.get $run) (i32.const 16)))
      (br_if $count (i32.lt_u (local.get $run) (local.get $limit)))))
    (if (i32.gt_u (local.get $run) (local.get $limit)) (then (local.set $run (local.get $limit))))
    (if (i32.gt_u (local.get $run) (i32.const 2)) (then
      (i32.store8 (local.get $dst) (i32.or (local.get $run) (i32.const 64)))
      (i32.store8 offset=1 (local.get $dst) (i32.load8_u (local.get $src)))
      (local.set $src (i32.add (local.get $src) (local.get $run)))
      (local.set $dst (i32.add (local.get $dst) (i32.const 2)))
      (br $next)))
    ;; no run of three here: take octets as they are up to where one begins
    (local.set $run (i32.const 1))
    (block $found (loop $scan
      (local.set $mask (i8x16.bitmask (v128.and
        (i8x16.eq (v128.load offset=0 (i32.add (local.get $src) (local.get $run)))
                  (v128.load offset=1 (i32.add (local.get $src) (local.get $run))))
        (i8x16.eq (v128.load offset=1 (i32.add (local.get $src) (local.get $run)))
                  (v128.load offset=2 (i32.add (local.get $src) (local.get $run)))))))
      (if (local.get $mask) (then
        (local.set $run (i32.add (local.get $run) (i32.ctz (local.get $mask))))
        ;; a run that reaches past the end is not one
        (if (i32.gt_u (i32.add (i32.add (local.get $src) (local.get $run)) (i32.const 3)) (local.get $srcEnd)) (then
          (local.set $run (i32.const 63))))
        (br $found)))
      (local.set $run (i32.add (local.get $run) (i32.const 16)))
      (br_if $scan (i32.lt_u (local.get $run) (local.get $limit)))))
    (if (i32.gt_u (local.get $run) (local.get $limit)) (then (local.set $run (local.get $limit))))
    (local.set $limit (i32.sub (i32.sub (local.get $dstEnd) (local.get $dst)) (i32.const 1)))
    (if (i32.gt_u (local.get $run) (local.get $limit)) (then (local.set $run (local.get $limit))))
    (i32.store8 (local.get $dst) (local.get $run))
    (local.set $dst (i32.add (local.get $dst) (i32.const 1)))
    ${COPY_CELL('(local.get $src)', '(local.get $dst)')}
    (local.set $src (i32.add (local.get $src) (local.get $run)))
    (local.set $dst (i32.add (local.get $dst) (local.get $run)))
    (br $next)))
  (if (i32.eq (local.get $src) (local.get $srcEnd)) (then
    (if (local.get $head) (then
      (i32.store8 (local.get $head) (i32.or (i32.load8_u (local.get $head)) (local.get $eor)))))))
  (i32.store offset=0 (i32.const 0) (local.get $src))
  (local.get $dst))

(func (export "decode") (param $src i32) (param $srcEnd i32) (param $dst i32) (param $dstEnd i32) (param $mode i32)
  (param $length i32) (result i32)
  (local $head i32) (local $count i32) (local $fill i32) (local $records i32) (local $status i32) (local $value v128)
  (local.set $fill (i32.load offset=8 (i32.const 0)))
  (local.set $records (i32.load offset=12 (i32.const 0)))
  (block $out (loop $next
    (br_if $out (i32.ge_u (local.get $src) (local.get $srcEnd)))
    (local.set $status (i32.const 1))
    (br_if $out (i32.gt_u (i32.add (local.get $dst) (i32.const 66)) (local.get $dstEnd)))
    (local.set $status (i32.const 2))
    (local.set $head (i32.load8_u (local.get $src)))
    (local.set $count (i32.and (local.get $head) (i32.const 63)))
    (local.set $src (i32.add (local.get $src) (i32.const 1)))
    (if (i32.and (local.get $head) (i32.const 64)) (then
      (br_if $out (i32.ge_u (local.get $src) (local.get $srcEnd)))
      (local.set $value (i8x16.splat (i32.load8_u (local.get $src))))
      (v128.store offset=0 (local.get $dst) (local.get $value))
      (v128.store offset=16 (local.get $dst) (local.get $value))
      (v128.store offset=32 (local.get $dst) (local.get $value))
      (v128.store offset=48 (local.get $dst) (local.get $value))
      (local.set $src (i32.add (local.get $src) (i32.const 1))))
    (else
      (br_if $out (i32.gt_u (i32.add (local.get $src) (local.get $count)) (local.get $srcEnd)))
      ${COPY_CELL('(local.get $src)', '(local.get $dst)')}
      (local.set $src (i32.add (local.get $src) (local.get $count)))))
    (local.set $dst (i32.add (local.get $dst) (local.get $count)))
    (local.set $status (i32.const 0))
    (if (i32.eqz (local.get $mode)) (then
      (br_if $next (i32.eqz (i32.and (local.get $head) (i32.const 128))))
      (local.set $status (i32.const 4))
      (br $out)))
    (local.set $fill (i32.add (local.get $fill) (local.get $count)))
    (local.set $status (i32.const 3))
    (br_if $out (i32.gt_u (local.get $fill) (local.get $length)))
    (if (i32.and (local.get $head) (i32.const 128)) (then
      (if (i32.eq (local.get $mode) (i32.const 1)) (then
        (br_if $out (i32.ne (local.get $fill) (local.get $length))))
      (else
        ;; the record's length goes into the two octets kept free in front of it; two more for the next
        (i32.store8 (i32.sub (i32.sub (local.get $dst) (local.get $fill)) (i32.const 2))
                    (i32.shr_u (local.get $fill) (i32.const 8)))
        (i32.store8 (i32.sub (i32.sub (local.get $dst) (local.get $fill)) (i32.const 1)) (local.get $fill))
        (local.set $dst (i32.add (local.get $dst) (i32.const 2)))))
      (local.set $records (i32.add (local.get $records) (i32.const 1)))
      (local.set $fill (i32.const 0))))
    (local.set $status (i32.const 0))
    (br $next)))
  (i32.store offset=0 (i32.const 0) (local.get $src))
  (i32.store offset=4 (i32.const 0) (local.get $dst))
  (i32.store offset=8 (i32.const 0) (local.get $fill))
  (i32.store offset=12 (i32.const 0) (local.get $records))
  (local.get $status))
`
