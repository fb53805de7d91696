// A double click on a button that sends something, or that answers a question, counts once: the second click would come
// before the page has shown that the first one works, or after all was done, and do it again. Loaded with the first script,
// so that it hears of clicks first.

const ONCE = 'button[type=submit], [role=dialog] button'

document.addEventListener(
  'click',
  (event) => {
    // By keyboard there is no count.
    if (event.detail < 2 || !(event.target instanceof Element) || !event.target.closest(ONCE)) return
    event.preventDefault()
    event.stopPropagation()
  },
  true,
)
