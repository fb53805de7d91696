// CPU time of another process: what a benchmark can still compare on a machine that has other work to do.

import { readFileSync } from 'node:fs'

/** User and system time of a process (Linux counts it in hundredths of a second); NaN where there is no /proc. */
export function cpuMicros(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return Number.NaN
  }
}
