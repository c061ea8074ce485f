"""The standard axes of images, filters and sequences, and their roles.

Source: seed 002 of nGraph's documentation, "Axes have context". Lengths are set by the user.
"""

from __future__ import annotations

from poplite.named.axes.axis import make_axis
from poplite.named.axes.roles import Namespace, make_axis_role

ar = Namespace()
"""Roles: Height, Width, Depth, Channel, Channelout, Time."""

ar.Height = make_axis_role()
ar.Width = make_axis_role()
ar.Depth = make_axis_role()
ar.Channel = make_axis_role()
ar.Channelout = make_axis_role()
ar.Time = make_axis_role()

ax = Namespace()
"""Axes: N; C D H W of an image; R S T J K of a filter; M P Q of a result; REC; Y."""

ax.N = make_axis(name="N", docstring="minibatch size")
ax.C = make_axis(roles=[ar.Channel], docstring="number of input feature maps")
ax.D = make_axis(roles=[ar.Depth], docstring="input image depth")
ax.H = make_axis(roles=[ar.Height], docstring="input image height")
ax.W = make_axis(roles=[ar.Width], docstring="input image width")

ax.R = make_axis(roles=[ar.Height], docstring="filter height")
ax.S = make_axis(roles=[ar.Width], docstring="filter width")
ax.T = make_axis(roles=[ar.Depth], docstring="filter depth")
ax.J = make_axis(roles=[ar.Channel], docstring="filter channel size (for crossmap pooling)")
ax.K = make_axis(roles=[ar.Channelout], docstring="number of output feature maps")

ax.M = make_axis(roles=[ar.Depth], docstring="output image depth")
ax.P = make_axis(roles=[ar.Height], docstring="output image height")
ax.Q = make_axis(roles=[ar.Width], docstring="output image width")

ax.REC = make_axis(name="R", roles=[ar.Time], docstring="recurrent axis")

ax.Y = make_axis(docstring="target")
