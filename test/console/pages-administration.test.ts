import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setScene, whyNot } from './browser.ts'
import { lookAt } from './look.ts'

test(
  'no page of administration has an axe violation, and none lacks contrast in the dark',
  { skip: whyNot() ?? false },
  async (t) => {
    const scene = await setScene(t)
    await lookAt(scene, 'administration', 'dark')
    assert.deepEqual(scene.faults, [])
  },
)
