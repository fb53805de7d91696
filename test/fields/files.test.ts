// Every cell of the table of fields that says "acts", over SFTP (OpenSSH's server and client) and with a folder.

import { commandExists, noOpenSsh } from '../support/sftp/openssh.ts'
import { startFileWorld } from './lanes.ts'
import { prove } from './proven.ts'

const skip = noOpenSsh || (commandExists('sftp') ? false : 'sftp is not installed')

prove(['sftp local', 'sftp remote', 'folder'], startFileWorld, skip)
