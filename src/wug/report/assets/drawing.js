// Digits that a person draws, or drops as files: each becomes a small grey picture, spelled with a
// hexadecimal digit for each pixel. window.wugDrawing(side, told) returns the place to draw in and
// calls told with the text of all pictures whenever it changes.
"use strict";

window.wugDrawing = (side, told) => {
  const make = (name, attributes = {}, ...content) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...content);
    return element;
  };
  const SCALE = 8, MOST = 20, LEAST_WIDTH = 192;
  const canvas = make("canvas", { width: side * SCALE, height: side * SCALE, tabindex: 0,
    "aria-label": "Draw a digit, or drop a picture of one", class: "pad",
    style: `width: ${Math.max(side * SCALE, LEAST_WIDTH)}px` });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const list = make("span", { class: "drawn" });
  const said = make("p", { class: "soft", role: "status" });
  const texts = [];
  let drawing = false;

  function clear() {
    pen.fillStyle = "black";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.strokeStyle = "white";
    pen.lineWidth = 2.2 * SCALE;
    pen.lineCap = pen.lineJoin = "round";
  }

  // As MNIST does: what is bright is cut out, brought to 20 of 28 pixels, and centred by its mass.
  function centred(source) {
    const { width, height } = source;
    const { data } = source.getContext("2d").getImageData(0, 0, width, height);
    let [left, top, right, bottom, mass, x, y] = [width, height, -1, -1, 0, 0, 0];
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const light = data[4 * (row * width + column)];
        if (light < 50) continue;
        left = Math.min(left, column); right = Math.max(right, column);
        top = Math.min(top, row); bottom = Math.max(bottom, row);
        mass += light; x += light * column; y += light * row;
      }
    }
    if (right < 0) return null;
    const small = make("canvas", { width: side, height: side });
    const brush = small.getContext("2d", { willReadFrequently: true });
    brush.fillStyle = "black";
    brush.fillRect(0, 0, side, side);
    const size = (20 / 28) * side / Math.max(right - left + 1, bottom - top + 1);
    brush.imageSmoothingQuality = "high";
    brush.setTransform(size, 0, 0, size, side / 2 - size * (x / mass), side / 2 - size * (y / mass));
    brush.drawImage(source, 0, 0);
    return small;
  }

  function spell(picture) {
    const { data } = picture.getContext("2d").getImageData(0, 0, side, side);
    return Array.from({ length: side * side }, (_, i) =>
      Math.round(data[4 * i] / 17).toString(16)).join("");
  }

  function add(source) {
    const picture = centred(source);
    if (!picture) { said.textContent = "There is nothing to see yet."; return; }
    if (texts.length >= MOST) { said.textContent = `No more than ${MOST} digits.`; return; }
    texts.push(spell(picture));
    list.append(picture);
    said.textContent = "";
    told(texts.join(" "));
  }

  function start() {
    texts.length = 0;
    list.replaceChildren();
    said.textContent = "";
    clear();
    told("");
  }

  // The page may show the canvas larger or smaller than it is.
  const place = (event) => [event.offsetX, event.offsetY]
    .map((at) => (at * canvas.width) / canvas.clientWidth);
  canvas.addEventListener("pointerdown", (event) => {
    drawing = true;
    canvas.setPointerCapture(event.pointerId);
    pen.beginPath();
    pen.moveTo(...place(event));
    pen.lineTo(...place(event));
    pen.stroke();
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drawing) return;
    pen.lineTo(...place(event));
    pen.stroke();
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => { drawing = false; });
  }
  canvas.addEventListener("dragover", (event) => event.preventDefault());
  canvas.addEventListener("drop", async (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer.files) {
      try {
        const bitmap = await createImageBitmap(file);
        const whole = make("canvas", { width: 112, height: 112 });
        const brush = whole.getContext("2d", { willReadFrequently: true });
        brush.drawImage(bitmap, 0, 0, 112, 112);
        const data = brush.getImageData(0, 0, 112, 112);
        // Dark on light, as on paper, becomes light on dark; colours become grey.
        const grey = (i) => (data.data[i] + data.data[i + 1] + data.data[i + 2]) / 3;
        const light = grey(0) > 127;
        for (let i = 0; i < data.data.length; i += 4) {
          const value = light ? 255 - grey(i) : grey(i);
          data.data[i] = data.data[i + 1] = data.data[i + 2] = value;
          data.data[i + 3] = 255;
        }
        brush.putImageData(data, 0, 0);
        add(whole);
      } catch (error) {
        said.textContent = `${file.name} is no picture: ${error.message}`;
      }
    }
  });
  const next = make("button", { type: "button" }, "Add digit");
  next.addEventListener("click", () => { add(canvas); clear(); });
  const again = make("button", { type: "button" }, "Start again");
  again.addEventListener("click", start);
  clear();
  return make("div", { class: "drawing" }, canvas, make("div", {}, next, " ", again), list, said);
};
