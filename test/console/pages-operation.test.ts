import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setScene, whyNot } from './browser.ts'
import { lookAt } from './look.ts'

test(
  'no page of operation has an axe violation, and none lacks contrast in the dark',
  { skip: whyNot() ?? false },
  async (t) => {
    const scene = await setScene(t)
    await lookAt(scene, 'operation', 'light')
    assert.deepEqual(scene.faults, [])
  },
)
