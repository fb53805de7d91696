// Many small files into a partner's folder by the dozen: copied by a thread of their own, named here. They leave the same
// hidden names on the way as a push (push-markers.ts), so an attempt after a crash finds what it knows.

import { systemCode } from '../../../errors.ts'
import { Copies } from '../../../files/small/copies.ts'
import type { Copied } from '../../../files/small/copies.ts'
import { removeName } from '../../../files/small/new-file.ts'
import type { PreparedFile, SmallBatches, SmallFile } from '../small-batches.ts'
import type { Names, PushMarkers } from './push-markers.ts'
import { isQuickHere, placeSmall, removeQuickly } from './small-files.ts'

/** `during`: the work that the session waits for at its end. `sync`: makes names in the inbox durable. */
export function smallBatches(
  markers: PushMarkers,
  { during, sync }: { during: <T>(work: () => Promise<T>) => Promise<T>; sync: () => Promise<void> },
): SmallBatches {
  return {
    marks: true,
    prepare: (files) => during(() => prepare(markers, files)),
    synced: () => during(sync),
  }
}

/** Partners' folders may lie on any disk. */
const copies = new Copies()

async function prepare(
  markers: PushMarkers,
  files: readonly SmallFile[],
): Promise<(PreparedFile | undefined)[]> {
  if (!isQuickHere() || !copies.isQuick) return files.map(() => undefined)
  const all = files.map((file) => markers.namesFor(file))
  const copied = await copies.make(
    files.map(({ path, expected }, nth) => ({ from: { path, expected }, to: all[nth]?.part ?? '' })),
  )
  return all.map((names, nth) => prepared(names, copied[nth]))
}

function prepared(names: Names, copied: Copied): PreparedFile | undefined {
  if (!copied) return undefined
  return {
    sha256: copied.sha256,
    place: async () => {
      try {
        placeSmall(names)
        return 'placed'
      } catch (thrown) {
        // Its name is taken; or somebody has changed something there, and the push finds out.
        return systemCode(thrown) === 'EEXIST' ? 'refused' : 'unknown'
      }
    },
    settled: () => removeQuickly(names.done),
    drop: () => removeName(names.part),
  }
}
