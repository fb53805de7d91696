import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setScene, whyNot } from './browser.ts'
import { lookOnPhone } from './look.ts'

test(
  'on a phone nothing sticks out sideways, and the menu opens and closes',
  { skip: whyNot() ?? false },
  async (t) => {
    const scene = await setScene(t)
    await lookOnPhone(scene)
    assert.deepEqual(scene.faults, [])
  },
)
