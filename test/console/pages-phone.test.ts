import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setScene, whyNot } from './browser.ts'
import { lookAtWidths } from './look.ts'

test(
  'at 320, 1440 and 2560 wide nothing sticks out sideways, with names of 120 characters; the menu opens and closes',
  { skip: whyNot() ?? false },
  async (t) => {
    const scene = await setScene(t)
    await lookAtWidths(scene)
    assert.deepEqual(scene.faults, [])
  },
)
