#!/usr/bin/python3
"""Prints the batches of a PyTorch data set of images and pixel labels, for a training loop of yours.

    labels.py

The images are simulated in two worker processes while the loop runs.  Only reflections that stand out
from the noise (z above 5) label their pixels.  Put the training step into the loop.  See braggpipe.torch.Labelled and braggpipe.Dataset.
"""
import torch.utils.data

from braggpipe.torch import Labelled


def main():
    train = Labelled(visible=5, frames=20, split="train", random=True, detpixels=256, pixel=0.4, ncells=10, fluence=1e26)
    for images, labels in torch.utils.data.DataLoader(train, batch_size=4, num_workers=2):
        print(tuple(images.shape), int((labels > 0).sum()), "pixels with a label")


if __name__ == "__main__":
    main()
