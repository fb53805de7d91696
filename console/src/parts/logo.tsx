// The mark: two gates of a lock, ajar.

import icon from '../icon.svg'

export function Logo({ size }: { size: number }) {
  return <img src={icon} width={size} height={size} alt="" />
}
