// Uploads, the connection test, the way to a new partner, and keys in use, in English.

export const uploadsEn = {
  button: 'Upload and send',
  title: 'Upload files to send',
  text: 'They go into the channel’s outbound directory. What would then be sent is shown before it goes.',
  files: 'Files',
  go: 'Upload',
  stop: 'Stop the upload',
  cancelled: 'The upload was stopped. The node has kept nothing of the file that was under way.',
  failed: 'Not uploaded',
  progress: 'Upload',
  nth: (number: string, count: string) => `file ${number} of ${count}`,
  done: (count: string) => (count === '1' ? 'The file is on the node' : `${count} files are on the node`),
}
