// Builds the console into dist/, which the node serves at /console. Everything is bundled: the page asks no other host
// for anything, and no script or style stands in the page itself (its Content-Security-Policy forbids both).

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700,
  },
  // `npm run dev` talks to a node that runs beside it.
  server: { proxy: { '/connect-back': 'http://127.0.0.1:8080' } },
})
